//! Answers of publishers and registries, each asked for once in a run: the images of a fleet share their components.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::code::Code;
use crate::diagnostic::Result;
use crate::fetch::{FetchError, FetchFailure};
use crate::io::http::HttpError;
use crate::model::tagged_image::ImagePin;

/// Questions of a run with their answers.
#[derive(Debug, Default)]
pub struct Answers {
    files: AnswerMap<FileQuestion, FileAnswer>,
    tags: AnswerMap<TagQuestion, ImagePin>,
}

/// A small file of a publisher, such as a list of releases.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileQuestion {
    /// The address that is asked: its publisher's, or a mirror's.
    pub url: String,
    /// HTTP header → environment variable with its value.
    pub headers: BTreeMap<String, String>,
}

/// The file, or the refusal of its server.
type FileAnswer = Result<Arc<[u8]>, HttpError>;

/// A tag of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TagQuestion {
    /// The address that is asked for the manifest.
    pub url: String,
    /// Build of Windows that the manifest is chosen for.
    pub build: u32,
}

impl Answers {
    /// The file, for a component of this name.
    ///
    /// # Errors
    /// As those of `ask`. A refusal is kept; an error that passes is not.
    pub(super) fn read_file(
        &self,
        name: &str,
        question: FileQuestion,
        ask: impl FnOnce() -> Result<Vec<u8>, FetchError>,
    ) -> Result<Arc<[u8]>, FetchError> {
        let answer = self.files.read(question, || match ask() {
            Ok(bytes) => Ok(Ok(Arc::from(bytes))),
            Err(error) => find_refusal(error).map(Err),
        })?;
        answer.map_err(|refusal| FetchError {
            name: name.to_owned(),
            failure: Box::new(refusal.into()),
        })
    }

    /// The pin of a tag.
    ///
    /// # Errors
    /// As those of `ask`, which are not kept.
    pub(super) fn read_tag(
        &self,
        question: TagQuestion,
        ask: impl FnOnce() -> Result<ImagePin>,
    ) -> Result<ImagePin> {
        self.tags.read(question, ask)
    }
}

/// The error of a server that answers the same to the next image, which would only use up the limit of its requests.
fn find_refusal(error: FetchError) -> Result<HttpError, FetchError> {
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
struct AnswerMap<Q, A>(Mutex<BTreeMap<Q, Arc<Mutex<Option<A>>>>>);

impl<Q, A> Default for AnswerMap<Q, A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: Ord, A: Clone> AnswerMap<Q, A> {
    fn read<E>(&self, question: Q, ask: impl FnOnce() -> Result<A, E>) -> Result<A, E> {
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
    fn a_refusal_is_kept_and_an_error_that_passes_is_not() {
        for (code, most) in [
            (Code::FORBIDDEN, 1),
            (Code::RATE_LIMIT, 1),
            (Code::NOT_FOUND, 1),
            (Code::TIMEOUT, 2),
        ] {
            let (answers, mut asked) = (Answers::default(), 0);
            for name in ["one", "two"] {
                let question = FileQuestion {
                    url: "https://example.test/list".to_owned(),
                    headers: BTreeMap::new(),
                };
                let answer = answers.read_file(name, question, || {
                    asked += 1;
                    let failure = HttpError::new(code, "https://example.test/list", "no");
                    Err(FetchError {
                        name: name.to_owned(),
                        failure: Box::new(failure.into()),
                    })
                });
                let error = answer.unwrap_err();
                assert_eq!((&*error.name, error.failure.code()), (name, code));
            }
            assert_eq!(asked, most, "{code:?}");
        }
    }
}
