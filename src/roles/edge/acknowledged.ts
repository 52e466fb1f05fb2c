/** What the other sides of TCP connections have acknowledged, as Linux tells it (`tcp_info` of <linux/tcp.h>). */
import type { Acknowledged } from '../../edge/exchange/stalls.js';
import { Linux, loadSyscalls, type Syscalls, SyscallsUnavailable } from '../../server/syscalls.js';

/** Of `tcpi_bytes_acked`. It has been there since Linux 4.1. */
const ACKED_AT = 120;
const LENGTH = 128;

function createAcknowledged({ addressOf, getsockopt }: Pick<Syscalls, 'addressOf' | 'getsockopt'>): Acknowledged {
  const info = new DataView(new ArrayBuffer(LENGTH));
  const length = new Uint32Array(1);
  const [infoAt, lengthAt] = [addressOf(info.buffer), addressOf(length.buffer)];
  return (fd) => {
    length[0] = LENGTH;
    const failed = getsockopt(fd, Linux.SOL_TCP, Linux.TCP_INFO, infoAt, lengthAt) !== 0;
    return failed || length[0] < LENGTH ? undefined : Number(info.getBigUint64(ACKED_AT, true));
  };
}

/** Undefined where there are no such calls. */
async function loadAcknowledged(): Promise<Acknowledged | undefined> {
  try {
    return createAcknowledged(await loadSyscalls());
  } catch (error) {
    if (error instanceof SyscallsUnavailable) return undefined;
    throw error;
  }
}

/** The calls take 5 MB, so they are loaded when somebody reads slowly for the first time; until then, nothing is known. */
export function acknowledgedWhenAsked(onFault: (error: unknown) => void): Acknowledged {
  let acknowledged: Acknowledged | undefined;
  let isAsked = false;
  return (fd) => {
    if (!isAsked) loadAcknowledged().then((loaded) => (acknowledged = loaded), onFault);
    isAsked = true;
    return acknowledged?.(fd);
  };
}
