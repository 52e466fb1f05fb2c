/** Shape of `/cluster` (ours). */
import { z } from 'zod';
import { time } from '../schema.js';

const nodeState = z
  .enum(['follows', 'behind', 'stopped', 'gone'])
  .describe(
    '`stopped`: it serves its copy and cannot apply the next entry. `gone`: it has not reported for 15 seconds',
  );

export const cluster = z
  .object({
    id: z.string().nullable().describe('Null: one machine'),
    node: z.string().nullable().describe('The node that answers'),
    state: z
      .enum(['following', 'away', 'stopped'])
      .nullable()
      .describe('Of this node. `away`: PostgreSQL cannot be reached; reads go on, writes wait'),
    reason: z.string().optional(),
    last_entry: z.int().nullable().describe('Number of the last entry of the log; null when PostgreSQL is away'),
    nodes: z
      .array(
        z.object({
          name: z.string(),
          role: z.string(),
          version: z.string(),
          schema: z.int().describe('Version of the database'),
          state: nodeState,
          applied_entry: z.int(),
          lag_entries: z.int().describe('Entries that it lacks, as last reported'),
          seconds_since_report: z.int(),
          reason: z.string().optional(),
        }),
      )
      .describe('When PostgreSQL is away: those that lived before'),
    last_snapshot: z
      .object({ entry: z.int(), schema: z.int(), octets: z.int(), node: z.string(), made_on: time })
      .nullable(),
  })
  .meta({ id: 'Cluster' });

export type Cluster = z.output<typeof cluster>;

export const ONE_MACHINE: Cluster = {
  ...{ id: null, node: null, state: null, last_entry: null, nodes: [], last_snapshot: null },
};
