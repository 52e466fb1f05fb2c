/**
 * Messages that DNS processes receive but only the admin process may answer, as lines of the socket of the data directory:
 * `relay number address message` and `answer number message`, with the messages in base 64. Numbers are those of the connection.
 */
import { fromBase64, toBase64 } from '../../base/bytes.js';

/** A message, as the admin process gets it. */
export interface Relayed {
  readonly number: number;
  readonly request: Uint8Array;
  /** The address of the client. */
  readonly address: string;
}

/**
 * `away`: nobody could be asked, and nothing was done. `unknown`: no answer came, whatever was done; it is not to be
 * answered with an error.
 */
export type RelayedAnswer = Uint8Array | 'away' | 'unknown';

export interface Relay {
  /** Never rejects. */
  send(request: Uint8Array, address: string): Promise<RelayedAnswer>;
  /** Whether a line was an answer. */
  hear(line: string): boolean;
  /** The connection has ended: what was sent gets no answer. */
  lose(): void;
}

/** Messages under way; further ones are not sent. */
const MOST_UNDER_WAY = 200;
const RELAYED = /^relay (\d{1,15}) ([0-9a-fA-F.:]{2,64}) ([A-Za-z0-9+/=]{16,})$/;
const ANSWER = /^answer (\d{1,15}) ([A-Za-z0-9+/=]*)$/;

export function parseRelayed(line: string): Relayed | undefined {
  const [, number, address, text] = RELAYED.exec(line) ?? [];
  const request = text === undefined ? undefined : fromBase64(text);
  return request && address ? { number: Number(number), request, address } : undefined;
}

/** `answer` undefined: there is none. */
export function printAnswer(number: number, answer: Uint8Array | undefined): string {
  return `answer ${number} ${answer ? toBase64(answer) : ''}\n`;
}

/** `write` sends a line; it says whether there is a connection. */
export function createRelay(write: (line: string) => boolean): Relay {
  const waiting = new Map<number, (answer: RelayedAnswer) => void>();
  let last = 0;
  return {
    send(request, address) {
      return new Promise((resolve) => {
        const number = ++last;
        const isFull = waiting.size >= MOST_UNDER_WAY;
        if (isFull || !write(`relay ${number} ${address.replace(/%.*$/, '')} ${toBase64(request)}\n`)) resolve('away');
        else waiting.set(number, resolve);
      });
    },
    hear(line) {
      const [, number, text] = ANSWER.exec(line) ?? [];
      if (number === undefined) return false;
      waiting.get(Number(number))?.((text && fromBase64(text)) || 'unknown');
      waiting.delete(Number(number));
      return true;
    },
    lose() {
      for (const resolve of waiting.values()) resolve('unknown');
      waiting.clear();
    },
  };
}
