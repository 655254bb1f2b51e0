//! Requests from the page: fetches to the server that wrote it.

use leptos::prelude::{location, window};
use send_wrapper::SendWrapper;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::{Answered, Transport};
use crate::{
    i18n::{Catalogue, CommonText},
    model::Problem,
    paths,
};

/// The server's API, asked from the page.
pub(crate) struct Browser {
    text: &'static CommonText,
}

impl Browser {
    pub(crate) fn new(text: &'static Catalogue) -> Self {
        Self { text: &text.common }
    }

    fn unreachable(&self) -> Problem {
        let text = self.text;
        Problem::new(0, "unreachable", text.unreachable_title, text.unreachable_detail).hint(text.unreachable_hint)
    }
}

impl Transport for Browser {
    fn ask(&self, method: &'static str, path: String, body: Option<String>) -> Answered<'_> {
        Box::pin(SendWrapper::new(async move {
            let (status, text) = exchange(method, &path, body).await.map_err(|_| self.unreachable())?;
            if (200..300).contains(&status) {
                return Ok(text);
            }
            if status == 401 {
                to_login();
            }
            Err(serde_json::from_str(&text).unwrap_or_else(|_| self.unreadable(status, &format!("HTTP {status}"))))
        }))
    }

    fn unreadable(&self, status: u16, why: &str) -> Problem {
        Problem::new(status, "unreadable", self.text.unreadable_title, why).hint(self.text.unreadable_hint)
    }
}

/// One request: its status and body, or whatever JavaScript threw.
async fn exchange(method: &str, path: &str, body: Option<String>) -> Result<(u16, String), JsValue> {
    let init = web_sys::RequestInit::new();
    init.set_method(method);
    let headers = web_sys::Headers::new()?;
    headers.set("Accept", "application/json")?;
    if let Some(body) = body {
        headers.set("Content-Type", "application/json")?;
        init.set_body(&JsValue::from_str(&body));
    }
    init.set_headers(&headers);
    let response = JsFuture::from(window().fetch_with_str_and_init(&format!("{}{path}", paths::API), &init)).await?;
    let response: web_sys::Response = response.dyn_into()?;
    let text = JsFuture::from(response.text()?).await?;
    Ok((response.status(), text.as_string().unwrap_or_default()))
}

fn to_login() {
    let here = location();
    let to = format!("{}{}", here.pathname().unwrap_or_default(), here.search().unwrap_or_default());
    let _ = here.assign(&format!("{}{}", paths::LOGIN, paths::query(&[("to", Some(&to))])));
}
