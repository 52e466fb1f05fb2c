/** Whether this program may send echo requests: because of its groups (`ping_group_range`), or with CAP_NET_RAW. */
import { readFileSync } from 'node:fs';
import { arch, platform } from 'node:os';

const CAP_NET_RAW = 13n;

export function mayPing(): boolean {
  // The system calls are known only for these platforms (server/syscalls.ts).
  if (platform() !== 'linux' || !['x64', 'arm64'].includes(arch())) return false;
  return (
    isInRange(readOr('/proc/sys/net/ipv4/ping_group_range'), groups()) || hasCapability(readOr('/proc/self/status'))
  );
}

function groups(): readonly number[] {
  return [process.getegid!(), ...process.getgroups!()];
}

/** `range`: the first and the last group, as Linux prints them; the first is larger when no group may ping. */
export function isInRange(range: string, groups: readonly number[]): boolean {
  const [, first, last] = /^(\d+)\s+(\d+)/.exec(range) ?? [];
  return first !== undefined && groups.some((group) => group >= Number(first) && group <= Number(last));
}

/** `status`: the content of `/proc/PID/status`. */
export function hasCapability(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  return effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_NET_RAW) & 1n) === 1n;
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    // A file that is absent or unreadable permits nothing.
    return '';
  }
}
