//! The text of the Quotas pages.

/// See the module.
#[derive(Debug)]
pub struct QuotasText {
    pub title: &'static str,
}

pub(super) const EN: QuotasText = QuotasText { title: "Quotas" };

pub(super) const ZH: QuotasText = QuotasText { title: "配额" };
