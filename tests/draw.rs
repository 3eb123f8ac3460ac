//! Pictures as values and as files.

mod draw {
    mod banks;
    mod copies;
    mod docs;
    mod forms;
    mod layouts;
    mod orders;
    mod products;
    mod thread_values;
}
