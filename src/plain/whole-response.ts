/** A response that is there as a whole: its head and its body are written at once. */
import { STATUS_CODES } from 'node:http';
import type { Channel, Sending } from './connections.js';
import { currentDate } from './current-date.js';
import { hasTaken, writeJoined } from './write-joined.js';

export class WholeResponse implements Sending {
  isBegun = false;
  /** Whether it was sent, once it is over. */
  private isSent: boolean | undefined;
  private onOver: ((isSent: boolean) => void) | undefined;

  constructor(
    private readonly channel: Channel,
    private readonly method: 'GET' | 'HEAD',
    private readonly isLast: boolean,
  ) {}

  /** `lines`: its fields as they are sent, but for the date and what is said of the connection. */
  send(status: number, lines: string, body: Uint8Array | undefined): void {
    this.isBegun = true;
    const { socket, keepAlive, nowMs } = this.channel;
    const connection = this.isLast ? 'close' : `keep-alive\r\nKeep-Alive: ${keepAlive}`;
    const rest = `Date: ${currentDate(nowMs())}\r\nConnection: ${connection}\r\n\r\n`;
    const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`, lines, rest];
    writeJoined(socket, head, this.method === 'HEAD' ? undefined : body);
    if (hasTaken(socket)) this.finish(true);
  }

  /** Calls a function when the response has been sent, or cannot be any more. */
  whenOver(onOver: (isSent: boolean) => void): void {
    if (this.isSent === undefined) this.onOver = onOver;
    else onOver(this.isSent);
  }

  drained(): void {
    this.finish(true);
  }

  closed(): void {
    this.finish(false);
  }

  private finish(isSent: boolean): void {
    if (this.isSent !== undefined) return;
    this.isSent = isSent;
    this.onOver?.(isSent);
    if (isSent) this.channel.onWritten(this.isLast);
  }
}
