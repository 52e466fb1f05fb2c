/**
 * A resolver for measurements, on the port of the first argument: every name has one address with a TTL of a minute;
 * `bad…` fails.
 */
import { createSocket } from 'node:dgram';

const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
const SERVFAIL = 2;

socket.on('message', (query, peer) => {
  let end = 12;
  while (query[end] !== 0) end += 1 + query[end]!;
  const type = query.readUInt16BE(end + 1);
  const question = query.subarray(0, end + 5);
  const isBad = query.toString('latin1', 13, 16) === 'bad';
  const address = type === 1 && !isBad ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 51, 100, 7] : [];
  const answer = Buffer.concat([question, Buffer.from(address)]);
  answer.writeUInt16BE(0x8180 | (isBad ? SERVFAIL : 0), 2);
  answer.writeUInt16BE(address.length > 0 ? 1 : 0, 6);
  answer.writeUInt16BE(0, 8);
  answer.writeUInt16BE(0, 10);
  socket.send(answer, peer.port, peer.address);
});
socket.bind(Number(process.argv[2]), '127.0.0.1');
