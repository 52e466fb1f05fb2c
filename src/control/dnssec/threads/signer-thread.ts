/** A thread that makes signatures. It gets what is to be signed with the keys for it, keeps nothing, and reads no rows. */
import { parentPort } from 'node:worker_threads';
import { invariant } from '../../../base/errors.js';
import { Steps, standBack } from '../../../base/process/scheduling.js';
import { signOctets } from '../../../dnssec/sign.js';
import { packOctets, type SignedMessage, type SigningMessage, unpackOctets } from './order.js';

const port = parentPort;
invariant(port, 'this runs in a thread');
standBack(Steps.background, 'thread');

port.on('message', ({ keys, keyOf, ends, octets }: SigningMessage) => {
  const made = unpackOctets(ends, octets).map((part, i) => signOctets(keys[keyOf[i]!]!, part));
  const packed = packOctets(made);
  const answer: SignedMessage = { ends: packed.ends, signatures: packed.octets };
  port.postMessage(answer, [packed.ends.buffer as ArrayBuffer, packed.octets.buffer as ArrayBuffer]);
});
