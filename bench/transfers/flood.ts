/**
 * A thread that sends the messages it was given to 127.0.0.1 over and over until it is told to stop; it then tells how many.
 */
import { createSocket } from 'node:dgram';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

/** Datagrams sent together, then a pause of a millisecond. */
const AT_ONCE = 10;

const { messages, port } = workerData as { readonly messages: readonly Uint8Array[]; readonly port: number };
let isSending = true;
parentPort!.once('message', () => {
  isSending = false;
});

const socket = createSocket('udp4');
let sent = 0;
while (isSending) {
  for (let i = 0; i < AT_ONCE; i++, sent++) socket.send(messages[sent % messages.length]!, port, '127.0.0.1');
  await sleep(1);
}
socket.close();
parentPort!.postMessage(sent);
