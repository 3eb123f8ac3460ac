//! The command line, run as people run it.

mod cli {
    mod atoms;
    mod draw;
    mod layout;
}
