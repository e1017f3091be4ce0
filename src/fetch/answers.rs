//! Files that servers gave in a run, each asked for once: the images of a fleet share their components.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::code::Code;
use crate::base::digest::sha256_hex;
use crate::base::url::HttpUrl;
use crate::base::value::FileDigest;
use crate::io::http::HttpError;
use crate::trust::parse_origin;

use super::{FetchError, FetchFailure, Request};

/// Answers of the servers of a run.
#[derive(Debug, Default)]
pub struct FileAnswers {
    /// Files by the requests that brought them: the digest of what is in the store now, or the refusal of the server.
    pub(super) files: AnswerMap<FileQuestion, Result<FileDigest, HttpError>>,
    /// Origins of servers that answered to no try of a file.
    silent: Mutex<BTreeSet<String>>,
}

impl FileAnswers {
    /// Whether a server answered to no try of a file, and has not answered since.
    pub(super) fn is_silent(&self, url: &HttpUrl) -> bool {
        self.lock_silent().contains(&parse_origin(url.public_url()))
    }

    /// Notes of the end of a download whether its server answers; none for a file that came.
    pub(super) fn record_end(&self, url: &HttpUrl, error: Option<&FetchError>) {
        let mut silent = self.lock_silent();
        let asked = parse_origin(url.public_url());
        match error.map(|error| &*error.failure) {
            None => {
                silent.remove(&asked);
            }
            // Of a redirect, both servers: the one that it names may be that of every file.
            Some(FetchFailure::Http(error)) if is_silence(error.code) => {
                silent.extend([asked, parse_origin(&error.url)]);
            }
            Some(FetchFailure::Http(error)) => {
                silent.remove(&parse_origin(&error.url));
            }
            Some(_) => {}
        }
    }

    fn lock_silent(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an error is that of a server that sent no answer.
pub(super) fn is_silence(code: Code) -> bool {
    matches!(code, Code::CONNECT | Code::CONNECTION | Code::TIMEOUT)
}

/// Address and headers of a request, and the rules for hosts that it was sent by. Neither is kept: both may be secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileQuestion(String);

impl FileQuestion {
    /// `asked` has the address of a mirror, where one answers.
    pub(super) fn new(asked: &Request, rules: &str) -> Self {
        let mut parts = vec![rules.to_owned(), asked.url.request_url().to_owned()];
        for (name, value) in &asked.headers {
            parts.push(name.clone());
            parts.push(sha256_hex(value.reveal()));
        }
        Self(sha256_hex(parts.join("\0").as_bytes()))
    }
}

/// The error of a server that answers the same to the next image, which would only use up the limit of its requests.
pub(super) fn find_refusal(error: FetchError) -> Result<HttpError, FetchError> {
    const REFUSALS: [Code; 4] = [
        Code::FORBIDDEN,
        Code::GONE,
        Code::NOT_FOUND,
        Code::RATE_LIMIT,
    ];
    match *error.failure {
        FetchFailure::Http(refusal) if REFUSALS.contains(&refusal.code) => Ok(refusal),
        failure => Err(FetchError {
            failure: Box::new(failure),
            ..error
        }),
    }
}

/// Answers by their questions. A question that is being asked keeps only those waiting that ask the same.
#[derive(Debug)]
pub struct AnswerMap<Q, A>(Mutex<BTreeMap<Q, Arc<Mutex<Option<A>>>>>);

impl<Q, A> Default for AnswerMap<Q, A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: Ord, A: Clone> AnswerMap<Q, A> {
    /// The answer, which is asked for by the first of those who want it.
    ///
    /// # Errors
    /// As those of `ask`, which are not kept.
    pub fn read<E>(&self, question: Q, ask: impl FnOnce() -> Result<A, E>) -> Result<A, E> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = Arc::clone(slots.entry(question).or_default());
        drop(slots);

        let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = &*known {
            return Ok(answer.clone());
        }
        let answer = ask()?;
        *known = Some(answer.clone());
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_question_is_asked_once() {
        let (answers, asked) = (AnswerMap::default(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let answer = answers.read("list", || {
                        asked.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                        Ok::<_, ()>(7)
                    });
                    assert_eq!(answer, Ok(7));
                });
            }
        });
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    /// Each server answers only after the other was asked.
    #[test]
    fn two_questions_are_asked_at_once() {
        let answers = AnswerMap::default();
        let (to_second, from_first) = mpsc::channel();
        let (to_first, from_second) = mpsc::channel();
        let wait = |name: &str, sender: mpsc::Sender<()>, receiver: mpsc::Receiver<()>| {
            answers.read(name.to_owned(), || {
                sender.send(()).unwrap();
                receiver.recv_timeout(Duration::from_secs(60))
            })
        };
        thread::scope(|scope| {
            let first = scope.spawn(|| wait("first", to_second, from_second));
            let second = scope.spawn(|| wait("second", to_first, from_first));
            assert_eq!(first.join().unwrap(), Ok(()));
            assert_eq!(second.join().unwrap(), Ok(()));
        });
    }

    #[test]
    fn a_refusal_stays_and_an_error_that_passes_does_not() {
        for (code, stays) in [
            (Code::FORBIDDEN, true),
            (Code::RATE_LIMIT, true),
            (Code::NOT_FOUND, true),
            (Code::TIMEOUT, false),
        ] {
            let failure = HttpError::new(code, "https://example.test/list", "no");
            let error = FetchError::new("one", failure.into());
            assert_eq!(find_refusal(error).is_ok(), stays, "{code:?}");
        }
    }
}
