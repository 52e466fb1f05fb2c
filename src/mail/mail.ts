/**
 * Messages to people, sent through the operator's mail server, in turns: a server that answers slowly for some recipients takes few
 * connections of one account, and ends none of the others. Nothing of them is kept or logged.
 */
import nodemailer from 'nodemailer';
import type { Clock } from '../base/clock.js';
import type { MetricSample } from '../base/metrics.js';
import { createTurns, type TurnLimits } from '../base/turns.js';

export interface MailSettings {
  /** `smtp://` or `smtps://`, with user and password if the server wants them. */
  readonly url: string;
  readonly from: string;
}

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Whose turn it takes: the account, or another source of messages, and what is written to of it. */
  readonly turn: readonly [string, string];
}

export interface Mail {
  /** Rejects when the server does not take it in time. `signal` ends the attempt. */
  send(message: MailMessage, signal?: AbortSignal): Promise<void>;
  samples(): MetricSample[];
  close(): Promise<void>;
}

/** Without a word from the server. */
const SILENCE_MS = 20_000;
/** One message, however the server trickles. */
const LONGEST_MS = 60_000;
/** Each has a connection of its own; mail servers take some tens of one client. */
const LIMITS: TurnLimits = {
  all: { places: 8, waiting: 2000, beyond: 8 },
  each: [
    { places: 4, waiting: 500 },
    { places: 2, waiting: 200 },
  ],
  waitMs: 300_000,
};

/**
 * An address with which nothing else can be meant: no list, no name, no further line (RFC 5321 §4.1.2, without quoted local parts).
 */
const ADDRESS = /^[^\s@<>(),;:\\"[\]\p{Cc}]{1,64}@[^\s@<>(),;:\\"\p{Cc}]{1,190}$/u;

export function createMail({ url, from }: MailSettings, clock: Clock): Mail {
  const { protocol } = new URL(url);
  const turns = createTurns(LIMITS, clock);
  const transport = nodemailer.createTransport({
    url,
    // What the server at the address says for itself is not proved without TLS; plain smtp uses it where the server offers it.
    secure: protocol === 'smtps:',
    connectionTimeout: SILENCE_MS,
    greetingTimeout: SILENCE_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text, turn }, signal) {
      if (!ADDRESS.test(to)) throw new Error('a message was not sent: the address of the user is none to write to');
      const leave = await turns.enter(turn, { signal });
      if (typeof leave === 'string')
        throw new Error('a message was not sent: too many others wait for the mail server');
      const ended = new AbortController();
      const end = (): void => ended.abort(new Error('the mail server did not take it in time'));
      const cancel = clock.after(LONGEST_MS, end);
      signal?.addEventListener('abort', end, { once: true });
      try {
        await transport.sendMail({
          from,
          to: { name: '', address: to },
          subject,
          text,
          signal: ended.signal,
        });
      } finally {
        cancel();
        signal?.removeEventListener('abort', end);
        leave();
      }
    },
    samples: () => turns.samples('mail'),
    async close() {
      transport.close();
    },
  };
}
