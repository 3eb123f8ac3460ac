//! The command line, as a user meets it: exit codes, files, messages.

mod cli {
    mod atoms;
    mod case;
    mod check;
    mod command;
    mod draw;
    mod layout;
    mod sim;
}
