/** The directory of an authority (RFC 8555 §7.1.1): the URLs of its resources, and its metadata. */
import { z } from 'zod';
import { type Clock, steadyMs } from '../../base/clock.js';
import { readObject, refusal } from './problem.js';
import { isSecureUrl, type Transport } from './transport.js';

const LIFETIME_MS = 3_600_000;

export const urlSchema = z.string().max(2_048).refine(isSecureUrl, 'is not an https URL');

const directorySchema = z.object({
  newNonce: urlSchema,
  newAccount: urlSchema,
  newOrder: urlSchema,
  revokeCert: urlSchema,
  /** RFC 9773 §4. */
  renewalInfo: urlSchema.optional(),
  meta: z
    .object({
      termsOfService: z.string().optional(),
      caaIdentities: z.array(z.string().toLowerCase()).default([]),
      /** Description by name. */
      profiles: z.record(z.string(), z.string()).default({}),
    })
    .prefault({}),
});
export type Directory = z.output<typeof directorySchema>;

/**
 * Returns the directory and reloads it after an hour. While the authority does not answer, the previous one stays in
 * use. Simultaneous requests share one reload.
 */
export function createDirectory(transport: Transport, url: string, clock: Clock): () => Promise<Directory> {
  let known: { readonly directory: Directory; readonly untilMs: number } | undefined;
  let reading: Promise<Directory> | undefined;

  const read = async (): Promise<Directory> => {
    const answer = await transport.send({ method: 'GET', url, accept: 'application/json' });
    if (answer.status >= 300) throw refusal(answer, clock.nowMs());
    const directory = readObject(answer, directorySchema, clock.nowMs());
    known = { directory, untilMs: steadyMs(clock) + LIFETIME_MS };
    return directory;
  };

  return async () => {
    if (known && steadyMs(clock) < known.untilMs) return known.directory;
    reading ??= read().finally(() => (reading = undefined));
    try {
      return await reading;
    } catch (error) {
      if (known) return known.directory;
      throw error;
    }
  };
}
