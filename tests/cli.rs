//! The command line, as a user meets it: exit codes, files, messages.

mod cli {
    mod case;
    mod check;
    mod command;
    mod sim;
}
