package postgres

import "database/sql"

// Changed reports whether a statement changed a row. It takes the results of ExecContext.
func Changed(result sql.Result, err error) (bool, error) {
	n, err := ChangedRows(result, err)
	return n > 0, err
}

// ChangedRows returns how many rows a statement changed. It takes the results of ExecContext.
func ChangedRows(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
