//! A session against gateways that are not there.

use super::{Session, SessionEnd, SessionOptions, Told};
use std::time::Duration;
use tokio::time::timeout;

const GIVE_UP: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_session_ends_when_its_handle_is_dropped_even_if_no_gateway_answers() {
    let options = SessionOptions {
        // Nobody listens there.
        gateways: vec!["http://127.0.0.1:1".to_owned()],
        account: "lost".to_owned(),
        kind: "avatar".to_owned(),
        radius: 0,
        give_up: GIVE_UP,
    };
    let (session, mut told) = Session::open(options);
    assert!(timeout(GIVE_UP / 2, told.recv()).await.is_err(), "it tries as long as it was told to");
    drop(session);
    assert_eq!(timeout(GIVE_UP / 4, told.recv()).await, Ok(Some(Told::Ended(SessionEnd::Closed))));
    assert_eq!(told.recv().await, None);
}
