//! Errors as JSON: what happened, what stayed as it was, what to do next.

use crate::source::Trouble;
use axum::Json;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::json;

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = json!({"error": {
            "code": self.code,
            "message": self.message,
            "unchanged": self.unchanged,
            "hint": self.hint,
        }});
        (status, Json(body)).into_response()
    }
}

pub(super) fn nothing_there(uri: &Uri) -> Trouble {
    let path: String = uri.path().chars().take(100).collect();
    Trouble::not_found(format!("there is nothing at {path}")).hint("the first page is at /")
}

pub(super) async fn wrong_method(method: Method, uri: Uri) -> Trouble {
    let text = format!("{method} is not what {} is for", uri.path());
    Trouble::new(405, "wrong-method", text).hint("questions are GET, acts are POST")
}
