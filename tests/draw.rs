//! Pictures as values and as files.

mod draw {
    mod banks;
    mod forms;
    mod layouts;
    mod thread_values;
}
