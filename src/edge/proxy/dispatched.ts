/** A request to an origin over HTTP/1.1 through undici, which knows TLS and bodies of requests. */
import type { Dispatcher } from 'undici';
import type { OriginControl, OriginEvents, OriginRequest } from '../exchange/exchange.js';
import { framingOf, showsItsEnd } from '../http1/framing.js';

const GONE = new Error('the client is gone');

/** `isFresh`: the dispatcher is closed after the request. Throws if undici does not take the request. */
export function dispatch(
  dispatcher: Dispatcher,
  { method, target, headers, more, body }: OriginRequest,
  isFresh: boolean,
  events: OriginEvents,
): OriginControl {
  const dispatched = new Dispatched(events, () => {
    if (isFresh) void dispatcher.close();
  });
  dispatcher.dispatch(
    {
      path: target,
      method: method as Dispatcher.HttpMethod,
      headers: [...headers, ...more],
      body: body ?? null,
      reset: isFresh,
    },
    dispatched,
  );
  return dispatched;
}

class Dispatched implements Dispatcher.DispatchHandler, OriginControl {
  private controller: Dispatcher.DispatchController | undefined;
  private isAborted = false;

  constructor(
    private readonly events: OriginEvents,
    private readonly release: () => void,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isAborted) controller.abort(GONE);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    const headers = headerList(controller.rawHeaders);
    if (status < 200) this.events.onInformation(status, headers);
    else this.events.onHead(status, headers, showsItsEnd(framingOf(headers)));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.events.onData(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.release();
    this.events.onEnd(headerList(controller.rawTrailers));
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.release();
    this.events.onError(error);
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    this.controller?.resume();
  }

  abort(): void {
    this.isAborted = true;
    this.controller?.abort(GONE);
  }
}

/** Undici gives alternating names and values as octets. */
function headerList(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return [];
  const list: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    list.push(latin1(raw[i]!).toLowerCase(), latin1(raw[i + 1]!));
  }
  return list;
}

function latin1(value: Buffer | string): string {
  return typeof value === 'string' ? value : value.toString('latin1');
}
