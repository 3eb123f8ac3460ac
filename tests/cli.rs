//! The command line, run as people run it.

mod cli {
    mod draw;
    mod layout;
}
