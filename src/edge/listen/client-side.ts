/** The client's side of requests, as a way that is shorter than {@link Reply} needs it. */
import { type Clock, steadyMs } from '../../base/clock.js';
import type { ClientResponse } from '../exchange/client-response.js';
import { type EdgeRequest, firstValue } from '../exchange/exchange.js';
import type { Stalls } from '../exchange/stalls.js';
import { type Outcome, Reply } from './reply.js';
import type { ReadRequest, RequestFacts } from './request.js';

/** The report on a finished request. It is valid during the call only: the object is used again for the next request. */
export interface RequestReport {
  readonly request: ReadRequest;
  readonly facts: Pick<RequestFacts, 'ray' | 'client' | 'scheme'>;
  readonly outcome: Outcome;
  /** `1.1`, `2.0` … */
  readonly httpVersion: string;
  readonly tlsVersion: string | undefined;
  /** Steady milliseconds. */
  readonly startedMs: number;
}

export interface ClientSide {
  /** When the request came, steady milliseconds. */
  readonly startedMs: number;
  report(outcome: Outcome): void;
  /** For what only the general way can send. */
  reply(response: ClientResponse): Reply;
  /** A fault of this program has ended the exchange. */
  onFault(error: unknown): void;
}

export interface SideOptions {
  readonly details: boolean;
  readonly stalls: Stalls;
  readonly clock: Clock;
  readonly onReport: (report: RequestReport) => void;
  readonly onFault: (error: unknown) => void;
}

/** Of one request. */
export class RequestSide implements ClientSide {
  readonly startedMs: number;

  constructor(
    private readonly options: SideOptions,
    private readonly request: ReadRequest,
    private readonly facts: RequestFacts,
    private readonly tlsVersion: string | undefined,
    private readonly httpVersion: string,
  ) {
    this.startedMs = steadyMs(options.clock);
  }

  readonly report = (outcome: Outcome): void => {
    const { options, request, facts, httpVersion, tlsVersion, startedMs } = this;
    options.onReport({ request, facts, outcome, httpVersion, tlsVersion, startedMs });
  };

  onFault(error: unknown): void {
    this.options.onFault(error);
  }

  reply(response: ClientResponse): Reply {
    return replyTo(this.options, this.request, this.facts.ray, response, this.report);
  }
}

/** Of the plain requests of one connection, one after another. */
export class PlainSide implements ClientSide, RequestReport {
  request!: EdgeRequest;
  outcome!: Outcome;
  readonly httpVersion = '1.1';
  startedMs = 0;

  constructor(
    private readonly options: SideOptions,
    readonly tlsVersion: string | undefined,
  ) {}

  get facts(): EdgeRequest {
    return this.request;
  }

  begin(request: EdgeRequest): void {
    this.request = request;
    this.startedMs = steadyMs(this.options.clock);
  }

  report(outcome: Outcome): void {
    this.outcome = outcome;
    this.options.onReport(this);
  }

  onFault(error: unknown): void {
    this.options.onFault(error);
  }

  reply(response: ClientResponse): Reply {
    const { options, request } = this;
    return replyTo(options, request, request.ray, response, (outcome) => this.report(outcome));
  }
}

function replyTo(
  { details, stalls, onFault }: SideOptions,
  request: ReadRequest,
  ray: string,
  response: ClientResponse,
  onEnd: (outcome: Outcome) => void,
): Reply {
  const accept = (): string | undefined =>
    'failure' in request ? request.accept : firstValue(request.headers, 'accept');
  return new Reply(response, { ray, host: request.host, accept, details, onEnd, stalls, onFault });
}
