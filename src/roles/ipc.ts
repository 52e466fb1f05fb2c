/** What the processes of one `serve` tell each other, over the channel Node gives a forked child. */
import type { ChildProcess } from 'node:child_process';
import type { MetricSample } from '../base/metrics.js';
import type { LoadedSettings } from '../config/load.js';
import type { Settings } from '../config/schema.js';

export type Role = 'admin' | 'dns';

export interface DnsListener {
  readonly protocol: 'udp' | 'tcp' | 'tls' | 'https';
  readonly host: string;
  readonly port: number;
}

/** How the DNS process is doing; sent about once a second and whenever readiness changes. */
export interface DnsStatus {
  /** All zones are loaded and all listeners are bound. */
  readonly ready: boolean;
  readonly zones: number;
  /** Sequence number of the latest change that queries see, but for zones that are held. */
  readonly appliedChange: number;
  /** Why changes are not published at all; undefined when they are. */
  readonly failure?: string | undefined;
  readonly samples: readonly MetricSample[];
}

/** What came of the zone files at the very first start. */
export interface FirstImport {
  readonly directory: string;
  readonly imported: readonly string[];
  /** One line a file that was not imported: its name and why. */
  readonly failed: readonly string[];
}

export interface AdminReport {
  readonly url: string;
  /** Where it listens over TLS, if it does. */
  readonly secureUrl?: string;
  readonly email: string;
  /** The generated key of the first administrator, if this start made it and a terminal is there to show it. */
  readonly initialKey?: string;
  /** The file the generated key was written to instead. */
  readonly initialKeyFile?: string;
  readonly firstImport?: FirstImport;
  /** Where the bucket application listens, if it does. */
  readonly bucketUrl?: string;
}

export interface DnsReport {
  readonly listeners: readonly DnsListener[];
  /** How UDP is served, in words. */
  readonly transport: string;
  readonly zones: number;
  readonly records: number;
  /** One of the zones served, for the example; undefined when there is none. */
  readonly exampleZone?: string;
}

export interface Reports {
  readonly admin: AdminReport;
  readonly dns: DnsReport;
}

/** What a child is started with. */
export interface StartOrder {
  readonly settings: Settings;
  readonly origins: LoadedSettings['origins'];
  readonly version: string;
  /** Standard output is a terminal: generated secrets may be shown there. */
  readonly terminal: boolean;
}

/** From the supervisor. */
export type Order =
  | ({ readonly kind: 'start' } & StartOrder)
  | { readonly kind: 'dns-status'; readonly status: DnsStatus | undefined }
  | { readonly kind: 'drain' };

/** To the supervisor. */
export type Notice =
  | { readonly kind: 'ready'; readonly report: AdminReport | DnsReport }
  /** It cannot start, for a reason the operator can put right; the child exits next. */
  | { readonly kind: 'refused'; readonly message: string; readonly remedy?: string; readonly exitCode: 1 | 2 }
  | { readonly kind: 'dns-status'; readonly status: DnsStatus }
  /** The admin process answers `/readyz` with 200 from now on. */
  | { readonly kind: 'serving' };

/** Sends to a child; what cannot be delivered is of no use any more, as the child is gone. */
export function sendOrder(child: ChildProcess, order: Order): void {
  if (child.connected) child.send(order, () => {});
}

/** Sends to the supervisor. Resolves when the channel has taken it. */
export function sendNotice(notice: Notice): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected && process.send) process.send(notice, undefined, undefined, () => resolve());
    else resolve();
  });
}
