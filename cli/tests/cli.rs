//! The command line from a user's perspective: exit codes, files, messages.

mod cli {
    mod atoms;
    mod case;
    mod check;
    mod command;
    mod draw;
    mod export;
    mod layout;
    mod record;
    mod run;
    mod sim;
}
