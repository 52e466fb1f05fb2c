/** A response that is there as a whole: its head and its body are written at once, at the end of the turn if nothing follows in it. */
import { STATUS_CODES } from 'node:http';
import type { Channel, Sending } from './connections.js';
import { currentDate } from './current-date.js';
import { type LateWrite, writeAtEndOfTurn } from './late-writes.js';
import { hasTaken, writeJoined } from './write-joined.js';

export class WholeResponse implements Sending, LateWrite {
  isBegun = false;
  private isWritten = false;
  private head = '';
  private body: Uint8Array | undefined;
  /** Whether it was sent, once it is over. */
  private isSent: boolean | undefined;
  private onOver: ((isSent: boolean) => void) | undefined;

  /** `tellFault`: called with a bug that shows when the response is written late; the connection has ended then. */
  constructor(
    private readonly channel: Channel,
    private readonly method: 'GET' | 'HEAD' | 'PUT',
    private readonly isLast: boolean,
    private readonly tellFault: (error: unknown) => void = () => {},
  ) {}

  get isPending(): boolean {
    return !this.isBegun;
  }

  /** `lines`: its fields as they are sent, but for the date and what is said of the connection. `body` must stay as it is. */
  send(status: number, lines: string, body: Uint8Array | undefined): void {
    this.isBegun = true;
    const { keepAlive, nowMs, hasMore } = this.channel;
    const connection = this.isLast ? 'close' : `keep-alive\r\nKeep-Alive: ${keepAlive}`;
    const date = currentDate(nowMs());
    this.head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}Date: ${date}\r\nConnection: ${connection}\r\n\r\n`;
    this.body = this.method === 'HEAD' ? undefined : body;
    // Further requests are answered in the same turn.
    if (hasMore) this.writeLate();
    else writeAtEndOfTurn(this);
  }

  writeLate(): void {
    const { socket } = this.channel;
    if (this.isWritten || socket.destroyed) return;
    this.isWritten = true;
    writeJoined(socket, [this.head], this.body);
    this.body = undefined;
    if (hasTaken(socket)) this.finish(true);
  }

  onFault(error: unknown): void {
    this.channel.socket.destroy();
    this.tellFault(error);
  }

  /** Calls a function when the response has been sent, or cannot be any more. */
  whenOver(onOver: (isSent: boolean) => void): void {
    if (this.isSent === undefined) this.onOver = onOver;
    else onOver(this.isSent);
  }

  drained(): void {
    // What came before has left only now.
    if (this.isWritten) this.finish(true);
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
