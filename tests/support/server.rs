//! A web server on loopback that misbehaves as it is told: what each request gets is a list of
//! steps on the plain socket.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Seek as _, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// How many requests for this path came before.
    pub before: usize,
    /// `GET` or `CONNECT`.
    pub method: String,
    /// Path and query, or what a proxy is asked for.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// `bytes=100-` → 100 and none.
    pub fn range(&self) -> Option<(u64, Option<u64>)> {
        let (first, last) = self
            .header("range")?
            .strip_prefix("bytes=")?
            .split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()))
    }
}

/// What is done with a connection.
#[derive(Debug, Clone)]
pub enum Step {
    Send(Vec<u8>),
    /// Bytes of a file: from here on, so many.
    File(PathBuf, u64, u64),
    /// One byte at a time, this long apart, until the client has enough.
    Trickle(Vec<u8>, Duration),
    /// Nothing more, until the client goes away.
    Hang,
    /// The connection ends here, in good order.
    Close,
    /// The connection goes on to this address.
    Tunnel(SocketAddr),
}

/// What answers requests.
pub type Handler = dyn Fn(&Asked) -> Vec<Step> + Send + Sync;
type Tls = Option<Arc<rustls::ServerConfig>>;

/// The server; it goes when it is dropped.
pub struct Server {
    pub address: SocketAddr,
    scheme: &'static str,
    asked: Arc<Mutex<Vec<Asked>>>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub fn new(handler: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(handler))
    }

    pub fn tls(
        config: rustls::ServerConfig,
        handler: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(Arc::new(config)), Arc::new(handler))
    }

    fn start(tls: Tls, handler: Arc<Handler>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("address");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (asked, over) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicBool::new(false)),
        );
        let server = Self {
            address,
            scheme,
            asked: Arc::clone(&asked),
            over: Arc::clone(&over),
        };
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let (tls, handler, asked) = (tls.clone(), Arc::clone(&handler), Arc::clone(&asked));
                let Ok(stream) = stream else { continue };
                // A client that breaks off is part of the tests.
                thread::spawn(move || drop(serve(stream, tls, &*handler, &asked)));
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("requests").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The listener waits for a connection: this is the last one.
        drop(TcpStream::connect(self.address));
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn serve(
    socket: TcpStream,
    tls: Tls,
    handler: &Handler,
    asked: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let plain = socket.try_clone()?;
    let stream: Box<dyn Stream> = match tls {
        Some(config) => {
            let connection =
                rustls::ServerConnection::new(config).map_err(std::io::Error::other)?;
            Box::new(rustls::StreamOwned::new(connection, socket))
        }
        None => Box::new(socket),
    };
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream, asked)? {
        for step in handler(&request) {
            match step {
                Step::Send(bytes) => stream.get_mut().write_all(&bytes)?,
                Step::File(path, first, length) => {
                    let mut file = std::fs::File::open(path)?;
                    file.seek(SeekFrom::Start(first))?;
                    std::io::copy(&mut file.take(length), stream.get_mut())?;
                }
                Step::Trickle(bytes, pause) => {
                    // Waiting for what the client never sends is the pause.
                    plain.set_read_timeout(Some(pause))?;
                    for byte in bytes {
                        stream.get_mut().write_all(&[byte])?;
                        stream.get_mut().flush()?;
                        if (&plain).read(&mut [0]).is_ok() {
                            return Ok(());
                        }
                    }
                }
                Step::Hang => {
                    plain.set_read_timeout(None)?;
                    while (&plain).read(&mut [0])? > 0 {}
                    return Ok(());
                }
                Step::Close => {
                    stream.get_mut().flush()?;
                    return plain.shutdown(std::net::Shutdown::Both);
                }
                Step::Tunnel(to) => return tunnel(&plain, to),
            }
        }
        stream.get_mut().flush()?;
    }
    Ok(())
}

fn tunnel(client: &TcpStream, to: SocketAddr) -> std::io::Result<()> {
    let server = TcpStream::connect(to)?;
    let (mut from, mut into) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        drop(std::io::copy(&mut from, &mut into));
        into.shutdown(std::net::Shutdown::Both)
    });
    std::io::copy(&mut &*client, &mut &server)?;
    Ok(())
}

fn read(
    stream: &mut impl std::io::BufRead,
    asked: &Mutex<Vec<Asked>>,
) -> std::io::Result<Option<Asked>> {
    let mut lines = Vec::new();
    for line in stream.lines() {
        match line?.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let Some((first, rest)) = lines.split_first() else {
        return Ok(None);
    };
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let headers = rest.iter().filter_map(|line| line.split_once(':'));
    let headers = headers
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let mut asked = asked.lock().expect("requests");
    let before = asked.iter().filter(|earlier| earlier.path == path).count();
    asked.push(Asked {
        before,
        method,
        path,
        headers,
    });
    Ok(asked.last().cloned())
}

/// A head with these header lines.
pub fn head(status: &str, headers: &[&str]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status}\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    (text + "\r\n").into_bytes()
}

/// A status with a short page.
pub fn status(status: &str, headers: &[&str]) -> Vec<Step> {
    let mut all = vec!["Content-Length: 5"];
    all.extend(headers);
    let mut bytes = head(status, &all);
    bytes.extend(b"page\n");
    vec![Step::Send(bytes)]
}

/// The whole file.
pub fn whole(bytes: &[u8], headers: &[&str]) -> Vec<Step> {
    let length = format!("Content-Length: {}", bytes.len());
    let mut all = vec![length.as_str()];
    all.extend(headers);
    let mut answer = head("200 OK", &all);
    answer.extend(bytes);
    vec![Step::Send(answer)]
}

/// What a server that knows ranges and entity tags sends.
pub fn ranged(bytes: &[u8], etag: &str, asked: &Asked) -> Vec<Step> {
    let tag = format!("ETag: {etag}");
    let fits = asked.header("if-range").is_none_or(|wanted| wanted == etag);
    let Some((first, last)) = asked.range().filter(|_| fits) else {
        return whole(bytes, &[&tag, "Accept-Ranges: bytes"]);
    };
    let size = bytes.len();
    let last = last
        .map_or(size, |last| usize::try_from(last).expect("size") + 1)
        .min(size);
    let first = usize::try_from(first).expect("size");
    if first >= last {
        return status(
            "416 Range Not Satisfiable",
            &[&format!("Content-Range: bytes */{size}")],
        );
    }
    let part = &bytes[first..last];
    let headers = [
        format!("Content-Length: {}", part.len()),
        format!("Content-Range: bytes {first}-{}/{size}", last - 1),
        tag,
    ];
    let mut answer = head(
        "206 Partial Content",
        &headers.each_ref().map(String::as_str),
    );
    answer.extend(part);
    vec![Step::Send(answer)]
}
