package postgres

import "database/sql"

// Changed reports whether a statement changed a row. It takes the results of ExecContext.
func Changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
