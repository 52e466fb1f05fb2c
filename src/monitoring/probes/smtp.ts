/** A mail server answers: its greeting, HELO and QUIT (RFC 5321 §4.1.1). */
import type { Socket } from 'node:net';
import { ProbeFailure as Failure, overConnection, type ProbeFailure } from './dial.js';
import type { Attempt, Place } from './result.js';

/** More than any greeting has. */
const MOST_OCTETS = 8192;
/** What is sent after each reply, and the code that the reply must have. */
const STEPS = [
  { code: 220, send: 'HELO localhost\r\n' },
  { code: 250, send: 'QUIT\r\n' },
  { code: 221, send: undefined },
] as const;

/** Resolves with the last code. */
export function probeSmtp(place: Place, attempt: Attempt): Promise<number> {
  return overConnection(place, undefined, attempt, talk);
}

function talk(socket: Socket): Promise<number> {
  return new Promise((resolve, reject: (failure: ProbeFailure) => void) => {
    let [step, octets, text] = [0, 0, ''];
    socket.on('data', (chunk) => {
      octets += chunk.length;
      if (octets > MOST_OCTETS) return reject(new Failure('Other Failure'));
      text += chunk.toString('latin1');
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        // A hyphen says that more lines of the reply follow (§4.2.1).
        if (/^\d{3}-/.test(line)) continue;
        const { code, send } = STEPS[step++]!;
        const answered = /^\d{3}(?= |\r?$)/.exec(line)?.[0];
        if (Number(answered) !== code) {
          const known = answered === undefined ? undefined : Number(answered);
          return reject(new Failure('Response code mismatch error', false, known));
        }
        if (send === undefined) return resolve(code);
        socket.write(send);
      }
    });
    socket.once('close', () => reject(new Failure('Connection Reset by Peer')));
  });
}
