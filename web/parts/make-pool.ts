/** Makes a pool, and the monitor that probes it: nothing stays when the pool is refused. */
import { call } from '../api.js';

/** Values of the choice, and what they are called. */
export const CHECKS = [
  ['https', 'https: a page answers, with a valid certificate'],
  ['http', 'http: a page answers'],
  ['', 'None: all origins count as healthy'],
] as const;

export interface PoolInput {
  readonly name: string;
  readonly addresses: readonly string[];
  /** Type of the monitor; empty: none. */
  readonly check: string;
}

/** What was made, by path: the last one was made last. */
export interface Made {
  readonly pool: string;
  readonly paths: readonly string[];
}

/** Addresses in lines, or with commas or spaces between them. */
export function originsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

export async function makePool(base: string, { name, addresses, check }: PoolInput): Promise<Made> {
  const paths: string[] = [];
  try {
    let monitor = {};
    if (check !== '') {
      const body = { type: check, description: name };
      const { result } = await call<{ readonly id: string }>('POST', `${base}/monitors`, { body });
      paths.push(`${base}/monitors/${result.id}`);
      monitor = { monitor: result.id };
    }
    const origins = addresses.map((address, i) => ({ name: `origin-${i + 1}`, address }));
    const body = { name, origins, ...monitor };
    const { result } = await call<{ readonly id: string }>('POST', `${base}/pools`, { body });
    return { pool: result.id, paths: [...paths, `${base}/pools/${result.id}`] };
  } catch (error) {
    await takeBack(paths);
    throw error;
  }
}

/** Removes what was made, the last one first. */
export async function takeBack(paths: readonly string[]): Promise<void> {
  for (const path of paths.toReversed()) await call('DELETE', path).catch(() => undefined);
}
