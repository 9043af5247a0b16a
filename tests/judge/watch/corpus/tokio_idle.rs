// SPDX-License-Identifier: Apache-2.0
// tokio_idle.rs - tasks of tokio hand work around, and its eventfd is written and stays readable.
//
// Crate      tokio = { version = "1", features = ["rt-multi-thread", "sync", "time", "net", "io-util"] }
// Class      healthy
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn echo(listener: tokio::net::TcpListener) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut bytes = [0; 64];
            while let Ok(many) = stream.read(&mut bytes).await {
                if many == 0 || stream.write_all(&bytes[..many]).await.is_err() {
                    break;
                }
            }
        });
    }
}

async fn work() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<u32>(4);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let wakes = tokio::runtime::Handle::current();
    tokio::spawn(echo(listener));
    tokio::spawn(async move { while receiver.recv().await.is_some() {} });
    std::thread::spawn(move || loop {
        // From outside of the runtime: its eventfd is written.
        let sender = sender.clone();
        wakes.spawn(async move { sender.send(1).await });
        std::thread::sleep(Duration::from_millis(700));
    });
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    loop {
        let mut bytes = [0; 5];
        stream.write_all(b"hello").await.unwrap();
        stream.read_exact(&mut bytes).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::spawn(work()).await.unwrap() });
}
