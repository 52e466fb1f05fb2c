/** What scans of zones keep between requests. */
import type { UpstreamAnswer, UpstreamType } from '../../resolver/upstream.js';
import type { RecordItem } from './item.js';

/** Asks recursive resolvers, and never our own zones. */
export type AskOutside = (name: string, type: UpstreamType) => Promise<UpstreamAnswer>;

/** What was found of a zone: by the identifier under which it is accepted or rejected. */
export interface Scan {
  readonly found: Map<string, RecordItem>;
  /** When it began, milliseconds since 1970. */
  readonly beganMs: number;
  running: boolean;
}

/** By zone identifier. */
export type Scans = Map<string, Scan>;
