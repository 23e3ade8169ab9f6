//! Keep-alive of one connection: a question that must be answered, on both ends.
//!
//! Hearing something is not enough: with the path cut in one direction, the end that still hears
//! must find out too. So each end asks, and counts the connection dead when its own question
//! stays unanswered. A process that was itself stopped gives the peer one more chance, once a
//! question: what looks like the peer's silence may be its own.

use serde::{Deserialize, Serialize};

/// Times of the keep-alive. A dead path is noticed within `interval + timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepAliveConfig {
    /// Nanoseconds from an answer, or from the start, to the next question.
    pub interval_ns: u64,
    /// Nanoseconds within which a question must be answered.
    pub timeout_ns: u64,
}

impl KeepAliveConfig {
    /// 300 ms and 400 ms: a cut is noticed within 0.7 s.
    pub const STANDARD: Self = Self { interval_ns: 300_000_000, timeout_ns: 400_000_000 };
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAliveAction {
    /// Nothing until this moment.
    Wait {
        /// When to poll next, at the latest.
        until_ns: u64,
    },
    /// Send this question; the peer must send the number back.
    Ping {
        /// The number.
        nonce: u64,
    },
    /// The question was not answered: end the connection. Stays so.
    Dead {
        /// Nanoseconds since the question.
        silent_ns: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Question {
    asked_ns: u64,
    extended: bool,
}

/// State of the keep-alive of one connection. Times are monotonic nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepAlive {
    config: KeepAliveConfig,
    nonce: u64,
    question: Option<Question>,
    next_ns: u64,
    polled_ns: u64,
    dead: bool,
    own_stalls: u64,
}

impl KeepAlive {
    /// A connection began now.
    #[must_use]
    pub const fn new(config: KeepAliveConfig, now_ns: u64) -> Self {
        Self {
            config,
            nonce: 0,
            question: None,
            next_ns: now_ns.saturating_add(config.interval_ns),
            polled_ns: now_ns,
            dead: false,
            own_stalls: 0,
        }
    }

    /// The peer sent a number back. False if it answers no open question.
    pub fn on_pong(&mut self, nonce: u64, now_ns: u64) -> bool {
        let answers = self.question.is_some() && nonce == self.nonce && !self.dead;
        if answers {
            self.question = None;
            self.next_ns = now_ns.saturating_add(self.config.interval_ns);
        }
        answers
    }

    /// What to do now. Feed everything that arrived before asking.
    pub fn poll(&mut self, now_ns: u64) -> KeepAliveAction {
        let slept_ns = now_ns.saturating_sub(self.polled_ns);
        self.polled_ns = self.polled_ns.max(now_ns);
        let Some(mut question) = self.question else {
            if now_ns < self.next_ns {
                return KeepAliveAction::Wait { until_ns: self.next_ns };
            }
            self.nonce += 1;
            self.question = Some(Question { asked_ns: now_ns, extended: false });
            return KeepAliveAction::Ping { nonce: self.nonce };
        };
        let deadline_ns = question.asked_ns.saturating_add(self.config.timeout_ns);
        if now_ns < deadline_ns {
            return KeepAliveAction::Wait { until_ns: deadline_ns };
        }
        if !self.dead && !question.extended && slept_ns > self.config.timeout_ns / 2 {
            self.own_stalls += 1;
            question = Question { asked_ns: now_ns, extended: true };
            self.question = Some(question);
            return KeepAliveAction::Wait {
                until_ns: now_ns.saturating_add(self.config.timeout_ns),
            };
        }
        self.dead = true;
        KeepAliveAction::Dead { silent_ns: now_ns.saturating_sub(question.asked_ns) }
    }

    /// How often the peer got one more chance because this process was itself late.
    #[must_use]
    pub const fn own_stalls(&self) -> u64 {
        self.own_stalls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn standard() -> KeepAlive {
        KeepAlive::new(KeepAliveConfig::STANDARD, 1000 * MS)
    }

    /// Polls each millisecond; answers while `path` says so. The moment of death, in ms.
    fn run(mut path: impl FnMut(u64) -> bool, ms: std::ops::Range<u64>) -> Option<u64> {
        let mut keep = standard();
        for t in ms {
            match keep.poll(t * MS) {
                KeepAliveAction::Ping { nonce } if path(t) => {
                    assert!(keep.on_pong(nonce, t * MS));
                }
                KeepAliveAction::Dead { .. } => return Some(t),
                _ => {}
            }
        }
        None
    }

    #[test]
    fn an_answering_peer_lives_for_ever() {
        assert_eq!(run(|_| true, 1000..60_000), None);
    }

    #[test]
    fn a_cut_path_is_dead_within_interval_and_timeout_wherever_the_cut_falls() {
        for cut in 1000..2000 {
            let dead = run(|t| t < cut, 1000..4000).unwrap_or(u64::MAX);
            assert!(dead >= cut && dead <= cut + 700, "cut at {cut}, noticed at {dead}");
        }
    }

    #[test]
    fn a_stopped_process_gives_its_peer_one_more_chance_and_only_one() {
        let mut keep = standard();
        assert_eq!(keep.poll(1300 * MS), KeepAliveAction::Ping { nonce: 1 });
        assert!(matches!(keep.poll(5000 * MS), KeepAliveAction::Wait { .. }));
        assert!(matches!(keep.poll(9000 * MS), KeepAliveAction::Dead { .. }));
        assert!(!keep.on_pong(1, 9001 * MS), "the dead stay dead");
        assert_eq!(keep.own_stalls(), 1);
    }

    #[test]
    fn an_answer_to_another_question_is_no_answer() {
        let mut keep = standard();
        assert!(!keep.on_pong(1, 1000 * MS));
        assert_eq!(keep.poll(1300 * MS), KeepAliveAction::Ping { nonce: 1 });
        assert!(!keep.on_pong(2, 1310 * MS));
        assert!(keep.on_pong(1, 1320 * MS));
        assert_eq!(keep.poll(1321 * MS), KeepAliveAction::Wait { until_ns: 1620 * MS });
    }
}
