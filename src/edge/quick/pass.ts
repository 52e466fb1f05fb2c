/**
 * Passes responses to plain requests on from origins, without stages: one object for the exchanges of a connection, and one write for the
 * head and the part of the body that came with it.
 */
import type { Channel, Sending } from '../../plain/connections.js';
import type { ClientStream } from '../http2/client-stream.js';
import type { ClientSide } from '../listen/client-side.js';
import { PlainOutlet, StreamOutlet } from './outlets.js';
import { type Passing, type PassOptions, QuickExchange } from './quick-exchange.js';

/** Passes on what the requests of one connection ask for, one after another. */
export class PlainPasser {
  private outlet!: PlainOutlet;
  private exchange: QuickExchange | undefined;

  constructor(
    private readonly options: PassOptions,
    private readonly client: ClientSide,
    private readonly channel: Channel,
  ) {}

  /** Begins the exchange with the origin. */
  pass(passing: Passing, isLast: boolean): Sending {
    const exchange = this.exchange?.isSpent === false ? this.exchange : this.renew();
    const { outlet } = this;
    outlet.beginResponse(isLast);
    exchange.begin(passing);
    return outlet;
  }

  private renew(): QuickExchange {
    this.outlet = new PlainOutlet(this.channel);
    this.exchange = new QuickExchange(this.options, this.client, this.outlet);
    this.outlet.events = this.exchange;
    return this.exchange;
  }
}

/** The same for a response in a stream of HTTP/2. */
export function passOnInStream(options: PassOptions, client: ClientSide, passing: Passing, stream: ClientStream): void {
  const exchange = new QuickExchange(options, client, new StreamOutlet(stream));
  stream.watch({ drained: () => exchange.drained(), closed: (isSent) => exchange.end(isSent) });
  exchange.begin(passing);
}
