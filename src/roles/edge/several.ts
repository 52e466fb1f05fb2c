/** Whether several edge processes can share their ports on this machine. */
import { UserError } from '../../base/errors.js';
import type { Settings } from '../../config/schema.js';

/** Throws a UserError if the settings want several and the system cannot. `canShare`: for tests. */
export async function requireSharedPorts(
  { edge, edgeProcesses }: Pick<Settings, 'edge' | 'edgeProcesses'>,
  canShare: () => Promise<boolean> = canSharePorts,
): Promise<void> {
  if (edge === 'off' || edgeProcesses === 1 || (await canShare())) return;
  throw new UserError(
    `edge-processes ${edgeProcesses} needs Linux and a Node.js whose processes can share a port, which ${process.version} on ${process.platform} cannot`,
    'Set --edge-processes to 1, or install Node.js 24.',
  );
}

/** What several processes need is loaded only for them. */
async function canSharePorts(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const tcp = await import('../../server/tcp.js');
  return tcp.canSharePorts();
}
