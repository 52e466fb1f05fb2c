/** What the main thread and a thread that reads say to each other. */
import type { EventQuery, EventSlice } from '../../control/access/visible-events.js';
import type { Actor } from '../../control/guard/actor.js';
import type { ControlSettings } from '../../control/kernel/context.js';
import type { Finding } from '../../warnings/finding.js';
import type { Caller } from '../request.js';

/** What a thread is given at its start. */
export interface ReaderData {
  readonly dataDir: string;
  readonly settings: ControlSettings;
  readonly logLevel: string;
}

/** A request whose credential and parameters were checked. */
export interface ReadOrder {
  /** With its query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly caller: Caller;
}

export interface ReadAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface ExportOrder {
  readonly actor: Actor;
  readonly zoneId: string;
  /** Where it is written; the threads of a process share their files. */
  readonly fd: number;
}

/** `examine`: the actor to look for warnings for. `follow`: the actor who reads events. `next`: asks for more of an export. */
export type ToReader =
  | { readonly read: ReadOrder }
  | { readonly export: ExportOrder }
  | { readonly examine: Actor }
  | { readonly follow: Actor; readonly query: EventQuery }
  | 'next'
  | 'stop';

export type FromReader =
  | { readonly answer: ReadAnswer }
  | { readonly findings: readonly Finding[] }
  | { readonly events: EventSlice }
  /** Octets of a part of an export. */
  | { readonly written: number }
  | 'end'
  /** A bug; its text is for the log. */
  | { readonly failed: string };
