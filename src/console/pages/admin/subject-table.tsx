/** The table of a subject of administration, with the buttons that make and delete what it lists. */
import type { JSX } from 'preact';
import { Icon } from '../../parts/icon.js';
import { Empty } from '../../parts/notice.js';
import { Table, type TableProps } from '../../parts/table.js';
import { titleOf, type AdminSubject } from '../../state/subjects.js';

interface SubjectTableProps<Row> extends Omit<TableProps<Row>, 'label' | 'filterLabel' | 'children'> {
  readonly subject: AdminSubject;
  readonly texts: {
    readonly filter: string;
    readonly empty: string;
    readonly create: string;
    readonly remove: string;
  };
  /** Without it nobody may make one here. */
  readonly create: (() => void) | undefined;
  /** Without it nothing is chosen that could be deleted. */
  readonly remove: (() => void) | undefined;
}

export function SubjectTable<Row>(props: SubjectTableProps<Row>): JSX.Element {
  const { subject, texts, create, remove, ...table } = props;
  return (
    <>
      <Table {...table} label={titleOf(subject)} filterLabel={texts.filter}>
        {create && (
          <button type="button" class="primary" onClick={create}>
            <Icon name="plus" />
            {texts.create}
          </button>
        )}
        {remove && (
          <button type="button" class="danger" onClick={remove}>
            {texts.remove}
          </button>
        )}
      </Table>
      {table.rows.value.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
    </>
  );
}
