//! Locked artifacts → files in the store.
