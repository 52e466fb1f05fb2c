/**
 * Requests whose body comes later: the client waits for 100 (Continue), or has not sent anything of it yet. The head goes to the
 * origin at once, over a connection of its own; undici sends it with the first octets of the body only.
 */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { OriginControl, OriginEvents, OriginRequest } from '../exchange/exchange.js';
import { ORIGIN_CLOSED, ORIGIN_CONNECT_TIMEOUT, ORIGIN_RESPONSE_TIMEOUT } from '../exchange/origin-failure.js';
import type { OriginPlace, OriginTimes } from '../exchange/origin-place.js';
import { framingOf, showsItsEnd } from '../http1/framing.js';
import { MOST_HEADER_OCTETS } from './general-pools.js';

const LOOK_MS = 500;

/** Throws if the request holds what no request may. */
export function sendWithLaterBody(
  { tls, address, port }: OriginPlace,
  request: OriginRequest,
  { clock, connectMs, waitMs }: Pick<OriginTimes, 'connectMs' | 'waitMs'> & { readonly clock: Clock },
  events: OriginEvents,
): OriginControl {
  const { method, target, body } = request;
  const headers = [...request.headers, ...request.more];
  const framed = framingOf(headers) === 'none' ? ['transfer-encoding', 'chunked'] : [];
  const send = tls ? requestHttps : requestHttp;
  const asked = send({
    ...{ ...tls, host: address, port, path: target, method, agent: false, maxHeaderSize: MOST_HEADER_OCTETS },
    headers: [...headers, ...framed, 'connection', 'close'] as never,
  });
  const exchange = new LaterBody(asked, events, { clock, connectMs, waitMs });
  body?.once('error', (error) => exchange.fail(error));
  body?.once('close', () => {
    if (!body.readableEnded) exchange.fail(new Error('the body was cut off'));
  });
  asked.flushHeaders();
  body?.pipe(asked);
  return exchange;
}

class LaterBody implements OriginControl {
  private message: IncomingMessage | undefined;
  private isConnected = false;
  private isOver = false;
  private isPaused = false;
  private moved = 0;
  private sinceMs: number;
  private readonly cancel: () => void;

  constructor(
    private readonly asked: ClientRequest,
    private readonly events: OriginEvents,
    private readonly times: Pick<OriginTimes, 'connectMs' | 'waitMs'> & { readonly clock: Clock },
  ) {
    const { clock, connectMs, waitMs } = times;
    this.sinceMs = steadyMs(clock);
    this.cancel = clock.every(Math.min(LOOK_MS, connectMs, waitMs), () => this.checkTime());
    asked.on('socket', (socket: Socket) => {
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
        this.isConnected = true;
        this.touch();
      });
    });
    asked.on('information', ({ statusCode, rawHeaders }) => {
      this.touch();
      if (!this.isOver) events.onInformation(statusCode, lowerNames(rawHeaders));
    });
    asked.on('response', (message) => this.onResponse(message));
    // Nobody has asked for another protocol.
    asked.on('upgrade', (_message, socket) => {
      socket.destroy();
      this.fail(new Error('the origin switches protocols without being asked'));
    });
    asked.on('error', (error) => this.fail(error));
    asked.on('close', () => this.fail(closed()));
  }

  fail(error: Error): void {
    if (this.isOver) return;
    this.finish();
    this.events.onError(error);
  }

  pause(): void {
    this.isPaused = true;
    this.message?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.touch();
    this.message?.resume();
  }

  abort(): void {
    this.finish();
  }

  private onResponse(message: IncomingMessage): void {
    this.message = message;
    this.touch();
    message.on('error', (error) => this.fail(error));
    if (this.isOver) return;
    const fields = lowerNames(message.rawHeaders);
    this.events.onHead(message.statusCode!, fields, showsItsEnd(framingOf(fields)));
    message.on('data', (octets: Buffer) => {
      this.touch();
      if (!this.isOver) this.events.onData(octets);
    });
    if (this.isPaused) message.pause();
    message.on('end', () => {
      if (this.isOver || !message.complete) return;
      this.finish();
      this.events.onEnd(lowerNames(message.rawTrailers));
    });
    message.on('close', () => this.fail(closed()));
  }

  private finish(): void {
    this.isOver = true;
    this.cancel();
    this.asked.destroy();
  }

  private touch(): void {
    this.sinceMs = steadyMs(this.times.clock);
  }

  private checkTime(): void {
    const { clock, connectMs, waitMs } = this.times;
    const sent = this.asked.socket?.bytesWritten ?? 0;
    // What is sent is progress, and so is a client of whose body more is to come: its time is limited elsewhere.
    if (sent !== this.moved || this.isPaused || (this.isConnected && !this.asked.writableEnded)) this.touch();
    this.moved = sent;
    const ms = steadyMs(clock) - this.sinceMs;
    if (!this.isConnected && ms >= connectMs) this.fail(timeout(ORIGIN_CONNECT_TIMEOUT, 'no connection in time'));
    else if (ms >= waitMs) this.fail(timeout(ORIGIN_RESPONSE_TIMEOUT, 'no response in time'));
  }
}

const timeout = (code: string, message: string): Error => Object.assign(new Error(message), { code });
const closed = (): Error => timeout(ORIGIN_CLOSED, 'other side closed');

function lowerNames(list: readonly string[]): string[] {
  return list.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text));
}
