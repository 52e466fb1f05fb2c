/** What a search finds in the records of all zones, below the zones that it finds. */
import { pathWith } from '../../api.js';
import { useLoad } from '../../load.js';
import { Cell, TableFrame } from '../../parts/table.js';
import { Link } from '../../router.js';
import type { FoundRecords as Found } from '../../types.js';

/** One letter would find nearly everything. */
const SHORTEST = 2;
const SHOWN = 20;

/** Nothing where nothing is found. */
export function FoundRecords({ search }: { readonly search: string }) {
  const words = search.trim();
  const path = words.length < SHORTEST ? undefined : pathWith('/search', { q: words, limit: SHOWN });
  const { answer, busy } = useLoad<Found>(path);
  if (path === undefined || !answer || answer.result.records.length === 0) return null;
  const { records, next } = answer.result;
  return (
    <section>
      <h2>Records with these words</h2>
      <TableFrame label="Records with these words" class="stacked" busy={busy}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">Content</th>
            <th scope="col">Comment</th>
          </tr>
        </thead>
        <tbody>
          {records.map(({ zone, record }) => (
            <tr key={record.id}>
              <th scope="row">
                <Link class="name" href={`/zones/${zone.id}/records?search=${encodeURIComponent(words)}`}>
                  {record.name}
                </Link>
              </th>
              <td data-name="Type">{record.type}</td>
              <td data-name="Content">{record.content}</td>
              <Cell class="muted" name="Comment" value={record.comment} />
            </tr>
          ))}
        </tbody>
      </TableFrame>
      {next !== null && <p class="muted">There may be more: add a word, or search in one zone.</p>}
    </section>
  );
}
