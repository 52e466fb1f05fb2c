/** Whether several edge processes can share their ports on this machine. */
import { UserError } from '../../base/errors.js';
import type { Settings } from '../../config/schema.js';

/** Throws a UserError if the settings want several and the system cannot. */
export async function requireSharedPorts({ edge, edgeProcesses }: Pick<Settings, 'edge' | 'edgeProcesses'>) {
  if (edge === 'off' || edgeProcesses === 1) return;
  const { canSharePorts } = await import('../../server/tcp.js');
  if (process.platform === 'linux' && (await canSharePorts())) return;
  throw new UserError(
    `edge-processes ${edgeProcesses} needs Linux and a Node.js whose processes can share a port, which ${process.version} on ${process.platform} cannot`,
    'Set --edge-processes to 1, or install Node.js 24.',
  );
}
