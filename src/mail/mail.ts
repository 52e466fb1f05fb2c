/** Messages to people, sent through the operator's mail server. Nothing of them is kept or logged. */
import nodemailer from 'nodemailer';

export interface MailSettings {
  /** `smtp://` or `smtps://`, with user and password if the server wants them. */
  readonly url: string;
  readonly from: string;
}

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mail {
  /** Rejects when the server does not take it. */
  send(message: MailMessage): Promise<void>;
  close(): Promise<void>;
}

const LONGEST_MS = 20_000;

/**
 * An address with which nothing else can be meant: no list, no name, no further line (RFC 5321 §4.1.2, without quoted local parts).
 */
const ADDRESS = /^[^\s@<>(),;:\\"[\]\p{Cc}]{1,64}@[^\s@<>(),;:\\"\p{Cc}]{1,190}$/u;

export function createMail({ url, from }: MailSettings): Mail {
  const { protocol } = new URL(url);
  const transport = nodemailer.createTransport({
    url,
    // What the server at the address says for itself is not proved without TLS; plain smtp uses it where the server offers it.
    secure: protocol === 'smtps:',
    connectionTimeout: LONGEST_MS,
    greetingTimeout: LONGEST_MS,
    socketTimeout: LONGEST_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }) {
      if (!ADDRESS.test(to)) throw new Error('a message was not sent: the address of the user is none to write to');
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text });
    },
    async close() {
      transport.close();
    },
  };
}
