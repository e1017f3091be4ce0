//! The store of downloaded files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use imagegen::base::digest::sha256_hex;
use imagegen::base::secret::Secret;
use imagegen::fetch::{Fetcher, FileAnswers, Request};
use imagegen::io::fs::DigestSet;
use imagegen::io::http::Options;
use imagegen::io::store::Store;
use imagegen::ui::Downloads;

use super::{fetcher, file, impatient, one, patience, plain, request, sha512, sound};
use crate::support::server::{Server, Step, status, whole};
use crate::support::{Test, files};

/// Between finding and reading a file another reader may have found it damaged.
#[test]
fn a_file_that_leaves_the_store_is_none() {
    let test = Test::new();
    let store = Store::open(test.folder.join("store")).unwrap();
    let object = store.insert("https://a.test/f", b"content").unwrap();
    assert_eq!(
        store.read_object(&object).unwrap().as_deref(),
        Some(b"content".as_slice())
    );
    assert_eq!(
        store
            .digest_object(&object, DigestSet::Sha256)
            .unwrap()
            .unwrap()
            .sha256,
        sha256_hex(b"content")
    );
    std::fs::write(&object.path, "other").unwrap();
    assert!(
        store
            .digest_object(&object, DigestSet::Sha256)
            .unwrap()
            .is_none()
            && !object.path.exists()
    );
    assert!(
        store
            .digest_object(&object, DigestSet::Sha256)
            .unwrap()
            .is_none()
            && store.read_object(&object).unwrap().is_none()
    );
}

/// The images of a run: unpinned files, files of a publisher who has none, and a file that one of them pins otherwise.
#[test]
fn what_one_image_asked_for_is_not_asked_for_again() {
    let server = Server::new(|asked| match &*asked.path {
        "/gone" => status("404 Not Found", &[]),
        _ => whole(&file(), &[]),
    });
    let test = Test::new();
    let answers = Arc::new(FileAnswers::default());
    let share = || impatient(&test).with_answers(Arc::clone(&answers));
    let open = |path: &str| {
        let url = server.url(path).parse().expect("a URL");
        Request::without_digest("thing", &url, 1 << 20)
    };
    for _image in [1, 2, 3] {
        let fetched = one(&share(), &open("/x")).unwrap();
        assert_eq!(std::fs::read(fetched.path()).unwrap(), file());
        assert!(one(&share(), &open("/gone")).unwrap_err().is_absent());
    }
    assert_eq!(server.asked().len(), 2);

    let other = request(&server.url("/x"), &vec![b'o'; file().len()]);
    one(&share(), &other).unwrap_err();
    let small = Request {
        max_size: 1,
        ..open("/x")
    };
    one(&share(), &small).unwrap_err();

    // Another header is another question, as are other rules for hosts, and another run asks for itself.
    let before = server.asked().len();
    let mut named = open("/x");
    named.headers = vec![("X-Team".to_owned(), Secret::new("team-1"))];
    one(&share(), &named).unwrap();
    let allowing = Options {
        allow_http: vec!["mirror.example".to_owned()],
        ..Options::default()
    };
    let allowing = fetcher(&test, allowing).with_answers(Arc::clone(&answers));
    one(&allowing, &open("/x")).unwrap();
    one(&impatient(&test), &open("/x")).unwrap();
    assert_eq!(server.asked().len(), before + 3);

    // What is damaged is asked for again.
    let fetched = one(&share(), &open("/x")).unwrap();
    std::fs::write(fetched.path(), "other").unwrap();
    let again = one(&share(), &open("/x")).unwrap();
    assert_eq!(std::fs::read(again.path()).unwrap(), file());
}

/// The images of a run ask a mirror that is gone: the first file is tried as often as any, each further one once.
#[test]
fn a_server_that_never_answers_is_not_tried_again_for_each_file() {
    let is_up = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&is_up);
    let server = Server::new(move |_| {
        if answers.load(Ordering::SeqCst) {
            whole(&file(), &[])
        } else {
            vec![Step::Close]
        }
    });
    let test = Test::new();
    let run = Arc::new(FileAnswers::default());
    let count = |fetcher: Fetcher, path: &str| {
        let before = server.asked().len();
        let url = server.url(path).parse().expect("a URL");
        let came = one(&fetcher, &Request::without_digest("thing", &url, 1 << 20)).is_ok();
        (came, server.asked().len() - before)
    };
    let share = || impatient(&test).with_answers(Arc::clone(&run));
    let tries = usize::try_from(patience().tries).expect("a number");
    assert_eq!(count(share(), "/a"), (false, tries));
    assert_eq!(count(share(), "/a"), (false, 1));
    assert_eq!(count(share(), "/b"), (false, 1));
    assert_eq!(count(impatient(&test), "/b"), (false, tries), "another run");

    // A server that leads there is asked once for each file, too.
    let place = server.url("/z");
    let guide = Server::new(move |_| status("302 Found", &[format!("Location: {place}").as_str()]));
    let lead = |path: &str| {
        let url = guide.url(path).parse().expect("a URL");
        one(&share(), &Request::without_digest("thing", &url, 1 << 20)).unwrap_err();
        guide.asked().len()
    };
    assert_eq!([lead("/a"), lead("/b")], [tries, tries + 1]);

    // It answers again: all tries are worth it, also where a later file meets the next outage.
    is_up.store(true, Ordering::SeqCst);
    assert_eq!(count(share(), "/b"), (true, 1));
    is_up.store(false, Ordering::SeqCst);
    assert_eq!(count(share(), "/c"), (false, tries));
}

#[test]
fn the_store_notices_what_was_changed_on_the_disk() {
    let server = Server::new(plain);
    let test = Test::new();
    let wanted = request(&server.url("/x?sig=s3cret"), &file());
    let path = one(&impatient(&test), &wanted).unwrap().path().to_owned();
    one(&impatient(&test), &wanted).unwrap();
    assert_eq!(server.asked().len(), 1, "the store has it");
    // By the other digest, and by nothing at all.
    let by_sha512 = Request {
        digests: vec![sha512(&path)],
        ..wanted.clone()
    };
    let elsewhere = Request {
        url: server.url("/other").parse().unwrap(),
        ..by_sha512.clone()
    };
    let offline = || {
        fetcher(
            &test,
            Options {
                offline: true,
                ..Options::default()
            },
        )
    };
    assert_eq!(
        one(&offline(), &elsewhere)
            .unwrap_err()
            .failure
            .code()
            .as_str(),
        "offline",
        "nobody asked for it"
    );
    one(&offline(), &by_sha512).unwrap();
    one(&offline(), &elsewhere).unwrap();
    // A URL that is signed anew is of the same file.
    let renewed = server.url("/x?sig=other").parse().unwrap();
    one(
        &offline(),
        &Request {
            digests: Vec::new(),
            url: renewed,
            ..wanted.clone()
        },
    )
    .unwrap();
    one(
        &offline(),
        &Request {
            digests: Vec::new(),
            ..wanted.clone()
        },
    )
    .unwrap();

    let mut bytes = file();
    bytes[17] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = one(&offline(), &wanted).unwrap_err();
    assert_eq!(error.failure.code().as_str(), "offline", "{error}");
    assert!(
        !error.to_string().contains("s3cret")
            && error.failure.hint().unwrap().contains("imagegen fetch")
    );
    std::fs::write(&path, &bytes).unwrap();
    one(&impatient(&test), &wanted).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), file());
    assert_eq!(server.asked().len(), 2);
    for (name, bytes) in files(&test.folder) {
        assert!(
            !String::from_utf8_lossy(&bytes).contains("s3cret"),
            "{name}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_store_that_others_can_write_to_is_not_used() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let test = Test::new();
    let root = test.folder.join("store");
    Store::open(root.clone()).unwrap();
    assert_eq!(root.metadata().unwrap().mode() & 0o777, 0o700);
    for mode in [0o770, 0o707, 0o777] {
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(mode)).unwrap();
        let error = Store::open(root.clone()).unwrap_err();
        assert!(
            error.to_string().contains("other users can write"),
            "{mode:o}: {error}"
        );
    }
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755)).unwrap();
    Store::open(root).unwrap();
}

/// A link in the place of a part would be written through.
#[cfg(unix)]
#[test]
fn parts_follow_no_links() {
    let server = Server::new(plain);
    let test = Test::new();
    let fetcher = impatient(&test);
    let url = server.url("/x");
    let other = test.folder.join("other");
    std::fs::write(&other, "mine").unwrap();
    let part = test
        .folder
        .join("store/partial")
        .join(format!("{}.part", sha256_hex(url.as_bytes())));
    std::os::unix::fs::symlink(&other, &part).unwrap();
    let error = one(&fetcher, &request(&url, &file())).unwrap_err();
    assert_eq!(error.failure.code().as_str(), "file", "{error}");
    assert_eq!(std::fs::read(&other).unwrap(), b"mine");
}

#[test]
fn the_same_bytes_from_two_places_at_once_are_one_file() {
    let server = Server::new(plain);
    let test = Test::new();
    let wanted: Vec<Request> = (0..32)
        .map(|number| Request {
            digests: Vec::new(),
            ..request(&server.url(&format!("/{}", number % 16)), &file())
        })
        .collect();
    for outcome in impatient(&test).fetch_all(&wanted, 16, &Downloads::new_silent()) {
        outcome.unwrap();
    }
    assert_eq!(sound(&test.folder.join("store")), 1);
}
