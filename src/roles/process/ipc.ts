/** Messages between the processes of one `serve`, over the IPC channel of a forked Node process. */
import type { ChildProcess } from 'node:child_process';
import type { UserError } from '../../base/errors.js';
import type { MetricSample } from '../../base/metrics.js';
import type { LoadedSettings } from '../../config/load.js';
import type { Settings } from '../../config/schema.js';
import type { ToldSession } from '../../edge/shared/sessions.js';
import type { Reload } from './reload.js';

export type Role = 'admin' | 'dns' | 'edge';

export interface DnsListener {
  readonly protocol: 'udp' | 'tcp' | 'tls' | 'https';
  readonly host: string;
  readonly port: number;
}

/**
 * Status of the DNS process; sent when something in it has changed, at most about once a second, and otherwise every ten
 * seconds.
 */
export interface DnsStatus {
  /** Whether all zones are loaded and all listeners are bound. */
  readonly ready: boolean;
  readonly zones: number;
  /** Sequence number of the latest published change; held zones may lag behind it. */
  readonly appliedChange: number;
  /** Why no changes are published; undefined when they are. */
  readonly failure?: string | undefined;
  readonly samples: readonly MetricSample[];
}

/** Result of importing the zone files at the very first start. */
export interface FirstImport {
  readonly directory: string;
  readonly imported: readonly string[];
  /** One line for each file that was not imported: its name and the reason. */
  readonly failed: readonly string[];
  /** How zones got their names where their files do not say it. */
  readonly notes: readonly string[];
}

export interface AdminReport {
  readonly url: string;
  /** The URL over TLS, if it listens there. */
  readonly secureUrl?: string;
  readonly email: string;
  /** The generated key of the first administrator, if this start created it and a terminal can show it. */
  readonly initialKey?: string;
  /** The file that holds the generated key, until it was shown. */
  readonly initialKeyFile?: string;
  /** A link that signs one browser in, where the key is shown. */
  readonly loginLink?: string;
  /** Nobody has used a key yet, and there is none to show. */
  readonly keyUnused?: true;
  readonly firstImport?: FirstImport;
  /** What is not an error but often not meant, each with its remedy. */
  readonly notices?: readonly string[];
  /** The URL of the bucket application, if it listens. */
  readonly bucketUrl?: string;
  readonly s3Url?: string;
}

export interface DnsReport {
  readonly listeners: readonly DnsListener[];
  /** The UDP transport, in words. */
  readonly transport: string;
  readonly zones: number;
  readonly records: number;
  /** One of the served zones, for the example; undefined when there is none. */
  readonly exampleZone?: string;
}

export interface EdgeReport {
  readonly hosts: readonly string[];
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Absent: one. */
  readonly processes?: number;
}

/** One of several edge processes: its number, from 1 on. */
export interface EdgeMember {
  readonly number: number;
  readonly of: number;
}

/** How the edge process is doing, or all of them; sent like {@link DnsStatus}. */
export interface EdgeStatus {
  readonly samples: readonly MetricSample[];
}

export interface Reports {
  readonly admin: AdminReport;
  readonly dns: DnsReport;
  readonly edge: EdgeReport;
}

/** The data with which a child starts. */
export interface StartOrder {
  readonly settings: Settings;
  readonly origins: LoadedSettings['origins'];
  readonly version: string;
  /** Whether standard output is a terminal, where generated secrets may be shown. */
  readonly terminal: boolean;
  /** Start beside the process that serves now, which ends when this one is ready. */
  readonly takeOver?: boolean;
  /** Another process did this before, so what has gone meanwhile is waited for. */
  readonly isRestart?: boolean;
  /** Prepare everything, and wait for `take-place`. */
  readonly standby?: boolean;
  /** Of an edge process, if there are several. */
  readonly member?: EdgeMember;
}

/**
 * The certificate of the service itself and its key, PEM. The admin process has them, the DNS process needs them (`tls-cert
 * auto`).
 */
export interface CredentialsMessage {
  readonly kind: 'credentials';
  readonly certificate: string;
  readonly key: string;
}

/** Sessions that began in one edge process, for the others. */
export interface EdgeSessions {
  readonly kind: 'edge-sessions';
  readonly sessions: readonly ToldSession[];
}

/** Messages from the supervisor. */
export type Order =
  | ({ readonly kind: 'start' } & StartOrder)
  | { readonly kind: 'dns-status'; readonly status: DnsStatus | undefined }
  | { readonly kind: 'edge-status'; readonly status: EdgeStatus | undefined }
  | CredentialsMessage
  | EdgeSessions
  | ({ readonly kind: 'reload' } & Reload)
  /** Ends the wait of a process that was started with `standby`. */
  | { readonly kind: 'take-place' }
  | { readonly kind: 'drain' };

/** Messages to the supervisor. */
export type Notice =
  | { readonly kind: 'ready'; readonly report: Reports[Role] }
  /** The child cannot start, for a reason the operator can fix; it exits next. */
  | {
      readonly kind: 'refused';
      readonly message: string;
      readonly remedy?: string;
      readonly exitCode: UserError['exitCode'];
      /** Only the master key is missing or wrong. */
      readonly isAwaited: boolean;
    }
  /** The process lives: its thread does one thing after the other. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'dns-status'; readonly status: DnsStatus }
  | { readonly kind: 'edge-status'; readonly status: EdgeStatus }
  /** Whether any name could lead to an edge. The admin process sends it at its start, and when it changes. */
  | { readonly kind: 'edge-needed'; readonly needed: boolean }
  | CredentialsMessage
  | EdgeSessions
  /** The content of the database was replaced: all other processes must read it again. */
  | { readonly kind: 'replaced' }
  /** From now on the admin process answers `/readyz` with 200. */
  | { readonly kind: 'serving' };

/** Sends to a child, and calls `onSent`. A message that cannot be delivered is dropped, because the child is gone. */
export function sendOrder(child: ChildProcess, order: Order, onSent: () => void = () => {}): void {
  if (child.connected) child.send(order, onSent);
  else onSent();
}

/** Sends to the supervisor. Resolves when the channel has accepted the message. */
export function sendNotice(notice: Notice): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected && process.send) process.send(notice, undefined, undefined, () => resolve());
    else resolve();
  });
}
