//! The gateway, called as workers call it.
