/** What the thread that makes checkpoints is told, and what it answers. */
import type { Checkpoint } from '../write-ahead-log.js';

export type CheckpointOrder = 'copy' | 'end';

export type CheckpointReport = Checkpoint | { readonly failure: string };
