/** What takes part in the end of every write, in its order (kernel/participant.ts). */
import { catalogs } from './catalogs/participant.js';
import { certificates } from './certificates/zone-certificate.js';
import { signing } from './dnssec/participant.js';
import { flattening } from './flatten/index.js';
import type { Context } from './kernel/context.js';
import type { Participant } from './kernel/participant.js';
import { endings } from './records/ending.js';
import { pointers } from './reverse/participant.js';
import { refetching } from './secondary/refetch.js';
import { claims } from './zones/claims.js';
import { quotas } from './zones/record-quota.js';

export const PARTICIPANTS: readonly Participant<Context>[] = [
  claims,
  flattening,
  signing,
  certificates,
  catalogs,
  refetching,
  pointers,
  quotas,
  endings,
];
