/** The end of a bucket: only of an empty one, as the API wants it. */
import { call } from '../../api.js';
import { useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { go, useIsHere } from '../../router.js';

/** `base`: path of the bucket. */
export function DeleteBucket({ base, name }: { readonly base: string; readonly name: string }) {
  const sending = useSending();
  const isHere = useIsHere();
  const remove = (): void =>
    void sending.run(async () => {
      await call('DELETE', base);
      if (isHere()) go('/buckets');
    });
  return (
    <Panel title="Delete this bucket">
      <p class="muted">Only an empty bucket can be deleted: delete its objects first.</p>
      {sending.error && <ErrorNote error={sending.error} />}
      <p>
        <Confirm verb="Delete the bucket" what={name} busy={sending.busy} onConfirm={remove} />
      </p>
      <Curl request={{ method: 'DELETE', path: base }} />
    </Panel>
  );
}
