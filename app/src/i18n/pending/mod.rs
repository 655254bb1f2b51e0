//! The text of the Pending pages.

/// See the module.
#[derive(Debug)]
pub struct PendingText {
    pub title: &'static str,
}

pub(super) const EN: PendingText = PendingText { title: "Pending" };

pub(super) const ZH: PendingText = PendingText { title: "待处理" };
