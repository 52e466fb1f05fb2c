/** Whether this program may send echo requests: by the groups that may ping, or by CAP_NET_RAW. */
import { readFileSync } from 'node:fs';
import { arch, platform } from 'node:os';

const CAP_NET_RAW = 13n;

export function mayPing(): boolean {
  // System calls are known of these alone (server/syscalls.ts).
  if (platform() !== 'linux' || !['x64', 'arm64'].includes(arch())) return false;
  return (
    isInRange(readOr('/proc/sys/net/ipv4/ping_group_range'), groups()) || hasCapability(readOr('/proc/self/status'))
  );
}

function groups(): readonly number[] {
  return [process.getegid!(), ...process.getgroups!()];
}

/** `range`: the first and the last group, as Linux prints them; the first is larger when nobody may. */
export function isInRange(range: string, groups: readonly number[]): boolean {
  const [, first, last] = /^(\d+)\s+(\d+)/.exec(range) ?? [];
  return first !== undefined && groups.some((group) => group >= Number(first) && group <= Number(last));
}

/** `status`: that of a process, as Linux prints it. */
export function hasCapability(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  return effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_NET_RAW) & 1n) === 1n;
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    // Not there, or not readable: nobody may.
    return '';
  }
}
