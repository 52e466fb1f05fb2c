/**
 * Names of connections, looked up by the shared resolver. The system's way holds a thread of the pool that reads files until the name
 * servers answer, and there are four of these for a whole process.
 */
import type { LookupFunction } from 'node:net';
import { parseIP } from '../base/ip.js';
import type { ResolveOptions, Resolver } from './resolve.js';

/** Its message is the reason for whoever chose the name. */
export class NoAddress extends Error {}

/**
 * Gives only addresses that `requireAllowed` lets pass, so that the very address that is connected to is checked; a single one for which
 * it throws makes the whole name refused.
 */
export function checkedLookup(
  resolver: Resolver,
  requireAllowed: (address: string) => void,
  options?: ResolveOptions,
): LookupFunction {
  const find = async (name: string): Promise<{ address: string; family: 4 | 6 }[]> => {
    const types = ['A', 'AAAA'] as const;
    const answers = await Promise.all(types.map((type) => resolver.resolve(name, type, options)));
    const addresses = answers
      .flatMap(({ records }) => records.map(({ content }) => content))
      .filter((text) => parseIP(text));
    for (const address of addresses) requireAllowed(address);
    if (addresses.length === 0) throw new NoAddress(`${name} has no address`);
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return (hostname, { all }, done) => {
    find(hostname).then(
      (found) => (all ? done(null, found) : done(null, found[0]!.address, found[0]!.family)),
      (error: Error) => done(error as NodeJS.ErrnoException, []),
    );
  };
}
