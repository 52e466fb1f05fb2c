/** The servers of an account, to choose some for a catalog. */
import { useLoad } from '../../load.js';
import { PeerChoice } from '../../parts/peer-choice.js';
import type { Peer } from '../../types.js';

interface PeersOfAccountProps {
  readonly base: string;
  readonly legend: string;
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

export function PeersOfAccount({ base, legend, chosen, onChange }: PeersOfAccountProps) {
  const { answer } = useLoad<Peer[]>(`${base}/peers`);
  const peers = (answer?.result ?? []).filter(({ ip }) => ip !== undefined);
  if (answer && peers.length === 0) {
    return <p class="muted">No server is known yet. Add one on the tab Transfers of a zone first.</p>;
  }
  return <PeerChoice peers={peers} legend={legend} chosen={chosen} onChange={onChange} />;
}
